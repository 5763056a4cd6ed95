package ansible

// networkModules are those about what other machines answer, get or may send.
func networkModules() map[string]Module {
	return map[string]Module{
		"uri": {
			Type:  "http",
			Write: `- http: [the application is healthy: {url: "https://example.net/health", values: {state: up}}]`,
			AdHoc: "http health url=https://example.net/health",
			Args: Arguments{
				"url": same("url"), "method": same("method"), "headers": same("headers"), "body": same("body"), "body_format": same("json"), "status_code": same("status"), "timeout": same("timeout"), "return_content": none("the answer is the state of the result"),
				"user": same("username"), "url_username": same("username"), "password": same("password"), "url_password": same("password"), "force_basic_auth": none("a user is always sent"), "ca_path": same("ca"), "unix_socket": same("socket"),
				"validate_certs": none("certificates are verified"), "follow_redirects": none("a redirection is an answer"), "dest": no("a file has a source with https"), "creates": no("unless asks the server"), "removes": no("unless asks the server"), "src": no("the body is a text"),
				"client_cert": no("requests have no client certificate"), "client_key": no("requests have no client certificate"), "use_proxy": none("no proxy is used"), "http_agent": none("servers are told ccm-push"), "force": none("nothing is cached"), "use_gssapi": no("there is basic authentication"),
				"remote_src": no("a file has a source with https"), "use_netrc": none("username and password are written"), "unredirected_headers": none("a redirection is an answer"), "decompress": none("answers are read as they are"),
			},
			Gap: "a request that changes something says with `unless` when there is nothing to do; a redirection is an answer",
		},
	}
}
