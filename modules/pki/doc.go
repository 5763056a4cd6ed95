// Package pki is what tls_key and tls_cert share: private keys in PEM, and files whose content is made on the host.
//
// What does not come in: certificates and requests, which are tls_cert's.
package pki
