// Package recipients reads .ccm-secrets.yaml, which defines the readers of age-encrypted files: people with their
// public keys, and rules that assign files to them.
package recipients
