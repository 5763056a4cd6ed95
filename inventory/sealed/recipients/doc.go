// Package recipients reads .ccm-secrets.yaml, which says who can read what is encrypted with
// age: people with their public keys, and rules that give files to them.
package recipients
