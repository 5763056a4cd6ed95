// Package secret has the commands ccm-push secret.
//
//	edit.go    edit
//	import.go  import-vault
//	rekey.go   rekey and who
//	secret.go  get, set and encrypt
package secret
