"""How texts are compared: words of messages, names, and values of lists.

`folding` brings a text into the form that is compared. `words` makes the words of an index and of a
query, which both databases compare without rules of their own. `names` compares names of people and
companies, `values` the values of enumerations and traits. The rules for users: docs/search.md.
"""
