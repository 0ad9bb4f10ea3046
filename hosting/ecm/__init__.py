"""The eDragon CPU manager (ECM): it shares the processors out among applications."""
