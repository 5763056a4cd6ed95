// Package identity reads the private keys with which an operator decrypts what is encrypted with
// age: files of age-keygen, and SSH keys of type ed25519 and RSA. A passphrase is asked for
// when a key is first needed, once.
package identity
