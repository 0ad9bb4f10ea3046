"""The walks of CONTRIBUTING.md, done in a copy of the project as a new contributor does them."""
