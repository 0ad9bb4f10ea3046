"""The eDragon CPU manager (ECM), which divides the processors among the applications."""
