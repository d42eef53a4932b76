import sys

from aap_conformance.command_line import main

sys.exit(main())
