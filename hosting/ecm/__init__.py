"""The eDragon CPU manager (ECM): it divides the processors among the applications."""
