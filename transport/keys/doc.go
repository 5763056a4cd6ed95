// Package keys says of public keys, and of certificates for them, which they are
// and what they sign with.
package keys
