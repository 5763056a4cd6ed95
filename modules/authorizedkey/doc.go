// Package authorizedkey is the resource type "authorized_key": a public key that permits a login as a user.
package authorizedkey
