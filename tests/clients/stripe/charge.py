"""Charges cards with the official `stripe` package, all at once.

Usage: charge.py URL

Reads operations from standard input and writes what became of each to standard output, one JSON object a
line: {"operation": "tea", "params": {…}, "options": {…}} gives {"operation": "tea", "charge": {…}}, or
{"operation": "tea", "error": {"class": "CardError", …}}. The package retries by itself, as it is told here.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import stripe

# Its own 0.5 s to 5 s would be spent asleep.
stripe.HTTPClient.INITIAL_DELAY = 0.05
stripe.HTTPClient.MAX_DELAY = 0.2
# It would write an id of this machine into the user's home directory.
stripe.enable_telemetry = False


def charge(client, operation):
    try:
        charge = client.v1.charges.create(operation["params"], operation.get("options", {}))
    except stripe.StripeError as error:
        seen = {"class": type(error).__name__, "status": error.http_status, "body": error.json_body}
        return {"operation": operation["operation"], "error": seen}
    return {"operation": operation["operation"], "charge": charge.to_dict()}


def main(url):
    client = stripe.StripeClient("sk_test_clients", base_addresses={"api": url}, max_network_retries=20)
    operations = [json.loads(line) for line in sys.stdin]
    with ThreadPoolExecutor(max_workers=16) as threads:
        for outcome in threads.map(lambda operation: charge(client, operation), operations):
            print(json.dumps(outcome), flush=True)


main(sys.argv[1])
