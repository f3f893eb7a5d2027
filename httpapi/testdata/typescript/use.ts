// A small program over the client that openapi-typescript generates: it uses
// every resource once. It is type-checked, and run against a sandbox, by
// go test ./httpapi -run TypeScript.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Schemas = components["schemas"];

const baseUrl = process.env.BASE_URL;
const key = process.env.API_KEY;
if (!baseUrl || !key) throw new Error("set BASE_URL and API_KEY");

// Of an answer that comes as JSON or as a file, the types are those of the JSON.
const api = createClient<paths, "application/json">({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

/** Returns what was answered, or throws what it was refused with. */
function take<T>(answer: { data?: T; error?: Schemas["ErrorBody"] }): T {
  if (answer.error) throw new Error(`${answer.error.error.code}: ${answer.error.error.message}`);
  if (answer.data === undefined) throw new Error("there is no answer");
  return answer.data;
}

/** Checks what the types cannot know. */
function expect<T>(what: string, got: T, want: T): void {
  if (got !== want) throw new Error(`${what} is ${got}, not ${want}`);
}

let keys = 0;
const once = () => ({ header: { "X-Idempotency-Key": `typescript-${++keys}` } });

// Balance, and a consumer to do business with.
take(await api.POST("/v1/test_helpers/balance", { body: { amount: 500 } }));
const consumer = take(await api.POST("/v1/test_helpers/consumers", { body: { name: "Yaa Asantewaa", pin: "4321", balance: 100 } }));
const balance: Schemas["Balance"] = take(await api.GET("/v1/balance"));
expect("reserved", balance.reserved, 0);

// QR codes and payments.
const code = take(await api.POST("/v1/qr_codes", {
  params: once(),
  body: { type: "dynamic", amount: 1250, reference: "order-1001", metadata: { table: 7, window: true } },
}));
const type: "static" | "dynamic" = code.type;
expect("type", type, "dynamic");
take(await api.POST("/v1/qr_codes/{id}", { params: { path: { id: code.id } }, body: { description: null, metadata: { table: null } } }));
const paid: Schemas["Payment"] = take(await api.POST("/v1/test_helpers/qr_codes/{id}/pay", {
  params: { path: { id: code.id } },
  body: { account_id: consumer.account_id, pin: "4321" },
}));
expect("amount", paid.amount, 1250);
const payments = take(await api.GET("/v1/payments", { params: { query: { qr_code: code.id, status: "completed", "created[gte]": "2026-01-01" } } }));
expect("payments", payments.data[0]?.id, paid.id);
const entries = take(await api.GET("/v1/balance/entries", { params: { query: { limit: 1 } } }));
expect("entry", entries.data[0]?.source, paid.id);
const picture = await api.GET("/v1/qr_codes/{id}/download", { params: { path: { id: code.id }, query: { format: "svg" } }, parseAs: "text" });
expect("picture", picture.response.headers.get("Content-Type"), "image/svg+xml");
const theirs = take(await api.POST("/v1/test_helpers/consumer_qrs", { body: { account_id: consumer.account_id, amount: 19.99 } }));
const resolved = take(await api.POST("/v1/qr_codes/resolve", { body: { qr_payload: theirs.qr_payload } }));
expect("resolved", resolved.amount, 19.99);

// Refunds.
const refund: Schemas["Refund"] = take(await api.POST("/v1/refunds", {
  params: once(),
  body: { payment: paid.id, amount: 500, reason: "One juice was warm" },
}));
expect("refund", refund.status, "succeeded");
const refunds = take(await api.GET("/v1/refunds", { params: { query: { payment: paid.id, status: "succeeded" } } }));
expect("refunded", refunds.data[0]?.amount, 500);
const given = take(await api.GET("/v1/payments/{id}", { params: { path: { id: paid.id } } }));
expect("amount refunded", given.amount_refunded, 500);

// A statement of all that.
const statement: Schemas["BalanceStatement"] = take(await api.GET("/v1/balance/statement"));
expect("closing balance", statement.closing_balance, take(await api.GET("/v1/balance")).available);
const file = await api.GET("/v1/balance/statement", { params: { query: { format: "csv" } }, parseAs: "text" });
expect("file", file.response.headers.get("Content-Type"), "text/csv; charset=utf-8");

// Payouts, with a one-time code.
const sent = take(await api.POST("/v1/otp/request", { body: { purpose: "PAYOUT" } }));
expect("status", sent.status, "sent");
const messages = take(await api.GET("/v1/test_helpers/messages", { params: { query: { kind: "sms", limit: 1 } } }));
const otp = /\d{6}/.exec(messages.data[0]?.text ?? "")?.[0] ?? "";
take(await api.POST("/v1/otp/verify", { body: { purpose: "PAYOUT", code: otp } }));
const payout: Schemas["Payout"] = take(await api.POST("/v1/payouts", {
  params: once(),
  body: { amount: 10.5, destination: { type: "mobile_money", phone_number: "0241230903" }, otp_code: otp },
}));
take(await api.POST("/v1/payouts/{id}/cancel", { params: { path: { id: payout.id } } }));
const cancelled = take(await api.GET("/v1/payouts", { params: { query: { status: "cancelled" } } }));
expect("cancelled", cancelled.data[0]?.id, payout.id);

// Disbursements.
const disbursed: Schemas["Disbursement"] = take(await api.POST("/v1/disbursements/qr", { body: { qr_payload: theirs.qr_payload } }));
expect("disbursed", disbursed.status, "completed");
expect("recipient", disbursed.destination.recipient_type, "consumer");
const batch: Schemas["DisbursementBatch"] = take(await api.POST("/v1/disbursements/batch", {
  params: once(),
  body: { reference: "2026-03", rows: [{ amount: 2.5, destination: { type: "service_wallet", account_id: consumer.account_id } }] },
}));
expect("rows", batch.counts.total, 1);
const rows = take(await api.GET("/v1/disbursements/batch/{id}/rows", { params: { path: { id: batch.id } } }));
expect("row", rows.data[0]?.amount, 2.5);
expect("no error", rows.data[0]?.error?.code, undefined);

// Lookups.
const banks = take(await api.GET("/v1/lookup/banks"));
expect("bank", banks.data[0]?.object, "bank");
const owner = take(await api.POST("/v1/lookup/service-id", { body: { service_id: consumer.service_id } }));
expect("payable", owner.payable, true);
const named: Schemas["AccountNameLookup"] = take(await api.POST("/v1/lookup/account-name", { body: { phone_number: "0241234560" } }));
expect("name", named.account_name, "Kofi Mensah");

// Customers.
const customer: Schemas["Customer"] = take(await api.POST("/v1/customers", {
  params: once(),
  body: { name: "Akua Donkor", email: "akua@example.com", metadata: { tier: "gold" } },
}));
take(await api.POST("/v1/customers/{id}", { params: { path: { id: customer.id } }, body: { address: "12 Oxford Street, Osu", email: null } }));
const customers = take(await api.GET("/v1/customers", { params: { query: { limit: 1 } } }));
expect("address", customers.data[0]?.address, "12 Oxford Street, Osu");

// Products, coupons and plans.
const product: Schemas["Product"] = take(await api.POST("/v1/products", { body: { name: "Sobolo 50 cl", unit_amount: 1500 } }));
take(await api.POST("/v1/products/{id}", { params: { path: { id: product.id } }, body: { unit_amount: null } }));
expect("price", take(await api.GET("/v1/products/{id}", { params: { path: { id: product.id } } })).unit_amount, null);
const coupon: Schemas["Coupon"] = take(await api.POST("/v1/coupons", { body: { percent_off: 12.5, max_redemptions: 10 } }));
expect("coupons", take(await api.GET("/v1/coupons", { params: { query: { active: true } } })).data[0]?.id, coupon.id);
const plan: Schemas["Plan"] = take(await api.POST("/v1/plans", { body: { name: "Juice", amount: 4500, interval: "week", product: product.id } }));
expect("plans", take(await api.GET("/v1/plans", { params: { query: { product: product.id } } })).data[0]?.interval_count, plan.interval_count);

// Subscriptions.
const subscription: Schemas["Subscription"] = take(await api.POST("/v1/subscriptions", { body: { customer: customer.id, plan: plan.id, quantity: 2 } }));
expect("subscriptions", take(await api.GET("/v1/subscriptions", { params: { query: { status: "active" } } })).data[0]?.latest_invoice, subscription.latest_invoice);
expect("period", take(await api.GET("/v1/invoices", { params: { query: { subscription: subscription.id } } })).data[0]?.lines.data[0]?.period?.end, subscription.current_period_end);
const ending = take(await api.POST("/v1/subscriptions/{id}/cancel", { params: { path: { id: subscription.id } }, body: { at_period_end: true } }));
expect("cancellation", ending.cancel_at_period_end, true);

// Invoices.
const invoice: Schemas["Invoice"] = take(await api.POST("/v1/invoices", {
  body: { customer_name: "Akosua", auto_finalize: true, line_items: [{ description: "Catering", quantity: 1.5, unit_amount: 10000 }] },
}));
expect("total", invoice.total, 15000);
const settled = take(await api.POST("/v1/invoices/{id}/pay", { params: { path: { id: invoice.id } }, body: { payment_method: "pm_card" } }));
expect("invoice", settled.status, "paid");
const copy = take(await api.POST("/v1/invoices/{id}/duplicate", { params: { path: { id: invoice.id } } }));
take(await api.POST("/v1/invoices/{id}/finalize", { params: { path: { id: copy.id } } }));
const cash = take(await api.POST("/v1/invoices/{id}/pay", { params: { path: { id: copy.id } }, body: { paid_outside: true, payment_method: "cash" } }));
expect("payment", cash.payment, null);

// Checkout sessions.
const session: Schemas["CheckoutSession"] = take(await api.POST("/v1/checkout/sessions", {
  params: once(),
  body: { success_url: "https://shop.example/thanks?id={CHECKOUT_SESSION_ID}", line_items: [{ description: "Kente shirt", unit_amount: 24000 }] },
}));
expect("sessions", take(await api.GET("/v1/checkout/sessions", { params: { query: { status: "open" } } })).data[0]?.url, session.url);
const expired = take(await api.POST("/v1/checkout/sessions/{id}/expire", { params: { path: { id: session.id } } }));
expect("address", expired.url, null);

// Webhook endpoints and events.
const endpoint = take(await api.POST("/v1/webhooks", { body: { url: "https://example.com/hooks", events: ["payment.succeeded", "*"] } }));
expect("secret", endpoint.secret?.startsWith("whsec_"), true);
take(await api.PATCH("/v1/webhooks/{id}", { params: { path: { id: endpoint.id } }, body: { is_active: false } }));
const deleted = take(await api.DELETE("/v1/webhooks/{id}", { params: { path: { id: endpoint.id } } }));
expect("deleted", deleted.deleted, true);
const events = take(await api.GET("/v1/events", { params: { query: { type: "invoice.paid" } } }));
expect("event", events.data[0]?.data.object.object, "invoice");

// A refusal.
const refused = await api.GET("/v1/payouts/{id}", { params: { path: { id: "po_0" } } });
const why: Schemas["ErrorCode"] | undefined = refused.error?.error.code;
expect("code", why, "resource_missing");
expect("request", refused.error?.error.request_id, refused.response.headers.get("Request-Id") ?? "");

// What must not pass the type checker. Without its error, the line above each is one.
export const wrong: (() => unknown)[] = [
  // @ts-expect-error There is no such status.
  () => api.GET("/v1/payouts", { params: { query: { status: "lost" } } }),
  // @ts-expect-error An amount is no text.
  () => api.POST("/v1/test_helpers/balance", { body: { amount: "5" } }),
  // @ts-expect-error There is no such path.
  () => api.GET("/v1/payout"),
  // @ts-expect-error A payout needs a code.
  () => api.POST("/v1/payouts", { body: { amount: 5, destination: { type: "mobile_money" } } }),
  // @ts-expect-error The id of a payment is no number.
  () => api.POST("/v1/refunds", { body: { payment: 5 } }),
  // @ts-expect-error A refund of null is not one of all that is left.
  () => api.POST("/v1/refunds", { body: { payment: "pay_1", amount: null } }),
  // @ts-expect-error A number is text.
  () => api.POST("/v1/lookup/account-name", { body: { phone_number: 241234567 } }),
  // @ts-expect-error A file is text, and no number.
  (): number | undefined => file.data,
  // @ts-expect-error A row needs a destination.
  () => api.POST("/v1/disbursements/batch", { body: { rows: [{ amount: 5 }] } }),
];

// This document.
const document = take(await api.GET("/v1/openapi.json"));
expect("openapi", document.openapi.startsWith("3.1."), true);
console.log("every resource was used");
