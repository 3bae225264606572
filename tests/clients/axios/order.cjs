// Sends orders with axios and axios-retry, all at once.
//
// Usage: node order.cjs URL
//
// Reads operations from standard input and writes what became of each to standard output, one JSON object a
// line: {"operation": "tea", "path": "/orders", "body": {…}} gives {"operation": "tea", "status": 201,
// "replayed": false, "body": {…}}, or {"operation": "tea", "error": "ECONNRESET"} where there is no answer.
// An operation may bring its "key". axios-retry sends it again by itself, as it is told here.

const { randomUUID } = require("node:crypto");
const { createInterface } = require("node:readline");
const axios = require("axios");
const { default: axiosRetry, linearDelay } = require("axios-retry");

const client = axios.create({ baseURL: process.argv[2], headers: { "X-Tenant": "clients" } });

// axios-retry's own conditions leave a POST that was answered alone, and one whose answer was cut in its midst:
// they cannot know that it has a key. With one, it may be sent again …
function mayBeSentAgain(error) {
  return (
    // … when there is no answer,
    !error.response ||
    // … when there is a 5xx, or half an answer of any status, which axios gives the same code,
    error.code === "ERR_BAD_RESPONSE" ||
    // … and when the answer says so: it is 409 while the first request runs.
    error.response.data?.retry === "same_key"
  );
}

axiosRetry(client, { retries: 20, retryDelay: linearDelay(50), retryCondition: mayBeSentAgain });

async function order({ operation, path, body, key = randomUUID() }) {
  // The key is set once per operation: a retry sends the same headers.
  const headers = { "Idempotency-Key": `"${key}"` };
  try {
    return seen(operation, await client.post(path, body, { headers }));
  } catch (error) {
    return error.response ? seen(operation, error.response) : { operation, error: error.code };
  }
}

function seen(operation, { status, headers, data }) {
  return { operation, status, replayed: headers["idempotent-replayed"] === "true", body: data };
}

async function main() {
  const outcomes = [];
  for await (const line of createInterface({ input: process.stdin })) {
    outcomes.push(order(JSON.parse(line)).then((outcome) => console.log(JSON.stringify(outcome))));
  }
  await Promise.all(outcomes);
}

main();
