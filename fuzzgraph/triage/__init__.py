"""From failures to findings: signatures, and the folder that a finding is handed on as."""
