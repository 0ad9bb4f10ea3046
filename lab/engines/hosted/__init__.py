"""The engine for eDragon's hosting platform."""
