"""All campaigns, in the order in which they run."""

from scripts.campaigns.graphs import GRAPHS

CAMPAIGNS = {campaign.name: campaign for campaign in (GRAPHS,)}
