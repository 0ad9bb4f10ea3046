"""The part of the glossary that is made from the data sheets of policies."""


def policies() -> str:
    """Return an entry for each policy and baseline proxy."""
    from lab.report import glossary

    return glossary.sections("Policies by name", glossary.of_policies())


def parameters() -> str:
    """Return an entry for each parameter of a policy."""
    from lab.report import glossary

    return glossary.sections("Parameters of policies", glossary.of_parameters())
