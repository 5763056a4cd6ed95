// Package natsdata has what CCM keeps in NATS: values under keys, manifests as objects, and services
// that are registered.
//
// A [Store] asks for each of them once, however many hosts want it, so that all hosts of a run are
// told the same. What it gives is data: a value is no template, and not looked into.
//
// How NATS is reached does not belong here: see package natsconn.
package natsdata
