"""The words and numbers that made-up HR records are made of."""

from decimal import Decimal
from typing import Any, Final

FIRST: Final = (
    *("Ada", "Ben", "Chloe", "Daniel", "Elif", "Farid", "Grace", "Hugo", "Ines", "Jonas"),
    *("Kira", "Leon", "Mina", "Noah", "Olga", "Pablo", "Quinn", "Rosa", "Samir", "Tess"),
    *("Uma", "Viktor", "Wanda", "Xavier", "Yara", "Zoe"),
)
LAST: Final = (
    *("Adler", "Baker", "Costa", "Demir", "Eriksen", "Fischer", "Garcia", "Haddad", "Ito"),
    *("Jansen", "Kowalski", "Lindqvist", "Moreau", "Novak", "Okafor", "Petrov", "Quist"),
    *("Rossi", "Schmidt", "Tanaka", "Ueda", "Vargas", "Weber", "Yilmaz", "Zimmer"),
)
DEPARTMENTS: Final = ("Engineering", "Product", "Sales", "Support", "Finance", "Operations")
JOBS: Final = {
    "Engineering": ("Software engineer", "Site reliability engineer", "Test engineer"),
    "Product": ("Product manager", "Designer", "Researcher"),
    "Sales": ("Account executive", "Sales engineer"),
    "Support": ("Support specialist", "Support engineer"),
    "Finance": ("Accountant", "Controller"),
    "Operations": ("Office manager", "Recruiter", "Analyst"),
}
WORK_PLACES: Final = ("Berlin", "Lisbon", "Remote")
WORK_TYPES: Final = ("Employee", "Contractor", "Working student")
STATUSES: Final = ("Active", "On leave", "Former")
DOCUMENT_TYPES: Final = ("Contract", "Payslip", "Certificate", "Medical certificate")
WORKING_PATTERNS: Final = {
    "Full time": (480, 480, 480, 480, 480, 0, 0),
    "Four days": (480, 480, 480, 480, 0, 0, 0),
}
CATEGORIES: Final[dict[str, dict[str, Any]]] = {
    "Annual leave": {
        "allowance_days": Decimal(28),
        "consumes_balance": True,
        "carry_over_days": Decimal(5),
        "is_named_to_ai": True,
    },
    "Sick leave": {"is_sickness": True},
    "Parental leave": {"is_discretionary": True},
    "Study leave": {
        "allowance_days": Decimal(3),
        "consumes_balance": True,
        "is_named_to_ai": True,
    },
}
CALENDARS: Final[dict[str, dict[str, Any]]] = {
    "Berlin": {"country_code": "DE", "region": "BE", "is_default": True},
    "Lisbon": {"country_code": "PT", "region": "11"},
}
TIME_ZONES: Final = {"Berlin": "Europe/Berlin", "Lisbon": "Europe/Lisbon"}
CUSTOM_FIELDS: Final = {
    "shirt_size": ("Shirt size", "operational"),
    "emergency_contact": ("Emergency contact", "personal"),
    "nationality": ("Nationality", "demographic"),
    "pay_grade": ("Pay grade", "payroll"),
}
CUSTOM_VALUES: Final = {
    "shirt_size": ("S", "M", "L", "XL"),
    "emergency_contact": ("Partner", "Parent", "Sibling"),
    "nationality": ("German", "Portuguese", "Turkish", "Japanese"),
    "pay_grade": ("P1", "P2", "P3"),
}
STREETS: Final = ("Linden Street", "Harbour Road", "Mill Lane", "Station Square")
CITIES: Final = ("Berlin", "Potsdam", "Lisbon", "Porto")
