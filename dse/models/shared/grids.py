"""Carbon intensity of electricity by place and by source, as ACT has them (facebookresearch/ACT, MIT licence).

The files are ``location_2023.yaml`` (mixes of 2023) and ``source.yaml`` (over the life of a plant) in
``dse/machines/sources/act``, which has their licence.
"""

from __future__ import annotations

_KG_PER_J = 1e-3 / 3.6e6

# g/kWh
_PLACES = {
    "world": 481,
    "india": 713,
    "australia": 549,
    "taiwan": 642,
    "singapore": 471,
    "usa": 369,
    "europe": 300,
    "brazil": 98,
    "iceland": 7.3,
    "korea": 402,
    "japan": 446,
}
_SOURCES = {
    "coal": 820,
    "gas": 490,
    "biomass": 230,
    "solar": 41,
    "geothermal": 38,
    "hydropower": 24,
    "nuclear": 12,
    "wind": 11,
}
SOURCE = "ACT, location_2023.yaml and source.yaml"
GRIDS = {name: grams * _KG_PER_J for name, grams in (_PLACES | _SOURCES).items()}
"""Carbon of a joule of electricity, kg/J, by the name of a place or of a source."""
