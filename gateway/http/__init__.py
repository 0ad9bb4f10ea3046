"""The connections to customers and to the shop, which read, forward and answer HTTP/1.1
requests.
"""
