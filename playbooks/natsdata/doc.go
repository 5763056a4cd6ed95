// Package natsdata reads and writes CCM's data in NATS: values under keys, manifests as objects, and registered
// services.
//
// A [Store] requests each of them once for all hosts, so that all hosts of a run get the same data. A value is only
// data: it is not a template, and not parsed.
//
// Package natsconn makes the connection to NATS.
package natsdata
