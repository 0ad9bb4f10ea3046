"""The hosting platform: processors, applications, and the manager that assigns processors to
applications.
"""
