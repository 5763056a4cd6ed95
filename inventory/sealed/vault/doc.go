// Package vault decrypts texts of ansible-vault, in its formats 1.1 and 1.2 (lib/ansible/parsing/vault/__init__.py of
// ansible-core):
//
//	$ANSIBLE_VAULT;1.2;AES256;LABEL
//	hexadecimal lines
//
// The lines contain, again in hexadecimal and with newlines between, a salt, an HMAC-SHA256 and a text in AES-256-CTR.
// PBKDF2 derives the two keys and the counter from a password and the salt.
package vault
