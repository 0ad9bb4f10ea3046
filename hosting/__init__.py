"""The hosting platform: applications, and the CPU manager that assigns processors to them."""
