//go:build !host

package accounts

// Table is what users and groups call the databases that they rewrite, which no
// two may at once: /etc/passwd, /etc/group and their shadows.
const Table = "accounts"
