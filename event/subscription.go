package event

// AllTypes stands for every type in a subscription.
const AllTypes Type = "*"
