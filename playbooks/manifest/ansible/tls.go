package ansible

// tlsModules returns the modules of community.crypto for private keys and certificates.
func tlsModules() map[string]Module {
	const (
		secret  = "the private key must be a file on the host"
		content = "it must be a file on the host"
		backup  = "ccm-push undo restores the old file"
		backend = "there is only one backend"
		again   = "it is replaced when it differs"
	)
	owned := func(args Arguments) Arguments {
		args["owner"], args["group"], args["mode"], args["state"] = same("owner"), same("group"), same("mode"), same("ensure")
		args["backup"], args["select_crypto_backend"], args["return_content"] = none(backup), none(backend), no("its content is in no result")
		args["force"], args["attributes"], args["unsafe_writes"] = no(again), no("chattr attributes are not changed"), no("files are written whole")
		return args
	}
	return map[string]Module{
		"openssl_privatekey": {
			Type:  "tls_key",
			Write: "- tls_key: [/etc/ssl/private/app.key: {algorithm: rsa, bits: 4096}]",
			AdHoc: "tls_key /etc/ssl/private/app.key algorithm=rsa bits=4096",
			Args: owned(Arguments{
				"path": same("name"), "type": same("algorithm"), "size": same("bits"), "curve": same("curve"), "format": same("format"),
				"passphrase": no("keys have no passphrase"), "cipher": no("keys have no passphrase"), "regenerate": none("a key of another kind is replaced"),
				"format_mismatch": none("a key in another format is rewritten"),
			}),
			Gap: "keys are PKCS #8 unless `format` is given",
		},
		"openssl_csr": {
			Type:  "tls_cert",
			Write: "- tls_cert: [/etc/ssl/app.csr: {ensure: request, key: /etc/ssl/private/app.key, names: [app.example.net]}]",
			AdHoc: "tls_cert /etc/ssl/app.csr ensure=request key=/etc/ssl/private/app.key names=app.example.net",
			Args: owned(Arguments{
				"path": same("name"), "privatekey_path": same("key"), "subject": same("subject"), "subject_alt_name": same("names"), "extended_key_usage": same("usage"), "basic_constraints": same("usage"),
				"common_name": same("subject"), "organization_name": same("subject"), "organizational_unit_name": same("subject"), "country_name": same("subject"),
				"state_or_province_name": same("subject"), "locality_name": same("subject"), "email_address": same("subject"),
				"use_common_name_for_san": same("names"), "key_usage": none("it follows from the key and its usage"), "key_usage_critical": none("it is"), "basic_constraints_critical": none("they are"),
				"privatekey_content": no(secret), "privatekey_passphrase": no("keys have no passphrase"), "digest": no("it follows from the key"), "subject_ordered": no("subject is a map"),
				"subject_alt_name_critical": no("names are not critical"), "extended_key_usage_critical": no("the usage is not critical"), "ocsp_must_staple": no("requests never contain it"),
				"name_constraints_permitted": no("constraints of names are not supported"), "name_constraints_excluded": no("constraints of names are not supported"),
				"create_subject_key_identifier": no("the authority adds it"), "subject_key_identifier": no("the authority adds it"), "authority_key_identifier": no("the authority adds it"), "crl_distribution_points": no("the authority adds them"),
			}),
			Gap: "unless they are given, `usage` is `server` and the subject is the first name",
		},
		"x509_certificate": {
			Type:  "tls_cert",
			Write: "- tls_cert: [/etc/ssl/app.pem: {key: /etc/ssl/private/app.key, names: [app.example.net]}]",
			AdHoc: "tls_cert /etc/ssl/app.pem key=/etc/ssl/private/app.key names=app.example.net",
			Args: owned(Arguments{
				"path": same("name"), "privatekey_path": same("key"), "csr_path": same("csr"), "provider": same("ca_cert"), "ownca_path": same("ca_cert"), "ownca_privatekey_path": same("ca_key"),
				"selfsigned_not_after": same("days"), "ownca_not_after": same("days"), "ignore_timestamps": none("it is renewed before it expires"),
				"privatekey_content": no(secret), "ownca_privatekey_content": no(secret), "csr_content": no(content), "ownca_content": no(content),
				"privatekey_passphrase": no("keys have no passphrase"), "ownca_privatekey_passphrase": no("keys have no passphrase"),
				"selfsigned_not_before": no("it is valid from its creation"), "ownca_not_before": no("it is valid from its creation"),
				"selfsigned_digest": no("it follows from the key"), "ownca_digest": no("it follows from the key"), "selfsigned_version": no("certificates have version 3"), "ownca_version": no("certificates have version 3"),
				"selfsigned_create_subject_key_identifier": no("only authorities have it"), "ownca_create_subject_key_identifier": no("only authorities have it"), "ownca_create_authority_key_identifier": no("it is always there"),
				"acme_accountkey_path": no("ACME is not supported"), "acme_challenge_path": no("ACME is not supported"), "acme_chain": no("ACME is not supported"), "acme_directory": no("ACME is not supported"),
			}),
			Gap: "`provider` is `selfsigned` or `ownca`; a certificate is renewed 30 days before it expires",
		},
	}
}
