// Package tlscert is the resource type "tls_cert": a certificate for TLS, self-signed or of an authority on the host,
// or a request for one.
package tlscert
