// Package identity reads the private keys with which an operator decrypts age files: files of age-keygen, and SSH keys
// of type ed25519 and RSA. It prompts for a passphrase when a key is first needed, once.
package identity
