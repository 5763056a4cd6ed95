// Package tlskey is the resource type "tls_key": a private key that is made on the host and never leaves it.
package tlskey
