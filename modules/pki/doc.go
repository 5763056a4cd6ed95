// Package pki is the common part of tls_key and tls_cert: private keys in PEM, and files whose content is made on the
// host.
//
// Certificates and requests do not belong here; they are in tls_cert.
package pki
