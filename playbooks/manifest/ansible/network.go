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
		"ufw": {
			Type:  "firewall",
			Write: firewallWrite,
			AdHoc: firewallAdHoc,
			Args: Arguments{
				"rule": same("action"), "port": same("port"), "to_port": same("port"), "proto": same("protocol"), "protocol": same("protocol"), "from_ip": same("source"), "from": same("source"), "src": same("source"), "interface": same("interface"), "if": same("interface"), "interface_in": same("interface"), "if_in": same("interface"),
				"delete": same("ensure"), "comment": same("name"), "direction": none("packets that come in"), "insert": none("the rule of the narrower source comes first"), "insert_relative_to": none("the rule of the narrower source comes first"),
				"state": no("ufw is enabled with a service, and `ufw --force enable`"), "default": no("a policy is ufw's own: write /etc/default/ufw"), "policy": no("a policy is ufw's own: write /etc/default/ufw"), "logging": no("ufw's own"), "log": no("ufw's own"), "name": no("a rule has ports or a service"), "app": no("a rule has ports or a service"),
				"from_port": no("a rule is about ports of the host"), "to_ip": no("a rule is about all addresses of the host"), "dest": no("a rule is about all addresses of the host"), "to": no("a rule is about all addresses of the host"), "interface_out": no("packets that come in"), "if_out": no("packets that come in"), "route": no("packets that come in"),
			},
			Gap: "`limit`, and what is no rule about packets that come in; without `proto` a rule becomes one of TCP and one of UDP",
		},
		"firewalld": {
			Type:  "firewall",
			Write: firewallWrite,
			AdHoc: firewallAdHoc,
			Args: Arguments{
				"port": same("port"), "service": same("service"), "zone": same("zone"), "state": same("ensure"), "permanent": none("a rule is in force and kept"), "immediate": none("a rule is in force and kept"),
				"rich_rule": no("write action and source"), "source": no("a source that belongs to a zone is no rule"), "interface": no("an interface that belongs to a zone is no rule"), "masquerade": no("packets that come in"), "icmp_block": no("packets of ports"), "icmp_block_inversion": no("packets of ports"),
				"port_forward": no("packets that come in"), "target": no("firewalld's own"), "protocol": no("packets of TCP and UDP"), "timeout": no("a rule stays"), "offline": no("firewalld has to run"), "forward": no("packets that come in"),
			},
			Gap: "ports and services of a zone; a rule is in force and kept, whatever `permanent` and `immediate` say",
		},
		"iptables": {
			Type:  "firewall",
			Write: firewallWrite,
			AdHoc: firewallAdHoc,
			Args: Arguments{
				"jump": same("action"), "destination_port": same("port"), "destination_ports": same("port"), "protocol": same("protocol"), "source": same("source"), "in_interface": same("interface"), "state": same("ensure"), "comment": same("name"),
				"chain": none("packets that come in"), "table": none("rules have a table of their own"), "action": none("the rule of the narrower source comes first"), "rule_num": none("the rule of the narrower source comes first"), "wait": none("nothing waits for a lock"),
				"match": none("port and protocol say it"), "ip_version": none("sources say it; without one a rule is about both"),
				"ctstate": no("a rule is about all packets of a connection"), "syn": no("a rule is about all packets of a connection"), "policy": no("a policy is the ruleset's own"), "flush": no("rules of others stay"), "chain_management": no("a rule has no chain"),
				"destination": no("a rule is about all addresses of the host"), "source_port": no("a rule is about ports of the host"), "out_interface": no("packets that come in"), "reject_with": no("reject says it as the protocol does"), "limit": no("a rule counts nothing"), "limit_burst": no("a rule counts nothing"),
				"src_range": no("write source, as networks"), "dst_range": no("a rule is about all addresses of the host"), "icmp_type": no("packets of ports"), "to_ports": no("packets that come in"), "to_destination": no("packets that come in"), "to_source": no("packets that come in"), "log_prefix": no("a rule logs nothing"),
				"log_level": no("a rule logs nothing"), "uid_owner": no("packets that come in"), "gid_owner": no("packets that come in"), "goto": no("a rule has no chain"), "tcp_flags": no("packets of ports"), "fragment": no("packets of ports"), "match_set": no("write source"), "match_set_flags": no("write source"), "set_counters": no("a rule counts nothing"),
				"set_dscp_mark": no("packets are not changed"), "set_dscp_mark_class": no("packets are not changed"), "gateway": no("packets are not copied"), "numeric": none("nothing is listed"),
			},
			Gap: "rules of INPUT that say who may reach which port; the others are parts of an order that only all of them have",
		},
	}
}

const (
	firewallWrite = "- firewall: [https: {port: 443}]"
	firewallAdHoc = "firewall https port=443"
)
