"""Amounts in the currency of an organization: its minor units, and amounts in another currency.

The columns of amounts have no currency: what is in another one is refused and never converted.
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from customers.identification.field_values import InvalidField, InvalidValue
from customers.identification.traits import AMOUNTS, Traits, find_currency

# ISO 4217, list one. All others have two minor digits.
WITHOUT_MINOR_UNITS: Final = frozenset(
    {
        *("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG"),
        *("RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"),
    }
)
WITH_THREE_DIGITS: Final = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})
CENT: Final = Decimal("0.01")


def count_digits(currency: str) -> int:
    """Returns how many digits an amount is stored and shown with."""
    return 0 if currency in WITHOUT_MINOR_UNITS else 2


def round_amount(amount: Decimal, currency: str) -> Decimal:
    """Returns an amount in the minor units of a currency.

    Raises InvalidValue for a third digit, which the columns do not have.
    """
    if currency in WITH_THREE_DIGITS and amount != amount.quantize(CENT):
        raise InvalidValue(f"Send at most two digits after the point of an amount in {currency}.")
    unit = Decimal(1).scaleb(-count_digits(currency))
    return amount.quantize(unit, rounding=ROUND_HALF_UP)


def check_traits(traits: Traits, currency: str) -> Traits:
    """Returns the traits with amounts in the organization's currency.

    Raises InvalidField for a trait `currency` that is another one.
    """
    amounts = {name: traits.columns[name] for name in AMOUNTS if traits.columns.get(name)}
    if not amounts:
        return traits
    if problem := describe_foreign(traits.custom, currency):
        raise InvalidField("traits.currency", problem)
    rounded = {}
    for name, amount in amounts.items():
        try:
            rounded[name] = round_amount(amount, currency)
        except InvalidValue as refused:
            raise InvalidField(f"traits.{name}", str(refused)) from None
    return replace(traits, columns={**traits.columns, **rounded})


def describe_foreign(fields: Mapping[str, Any], currency: str) -> str:
    """Returns why amounts next to these custom fields are refused, or an empty text."""
    said = find_currency(fields)
    if not said or said.upper() == currency:
        return ""
    return (
        f"The amounts are in {said[:10]}. Send them in {currency}, the currency of the "
        "organization, or under names of your own."
    )
