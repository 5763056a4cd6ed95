package ansible

// networkModules returns the modules for requests to other machines and for network access rules.
func networkModules() map[string]Module {
	return map[string]Module{
		"uri": {
			Type:  "http",
			Write: `- http: [the application is healthy: {url: "https://example.net/health", values: {state: up}}]`,
			AdHoc: "http health url=https://example.net/health",
			Args: Arguments{
				"url": same("url"), "method": same("method"), "headers": same("headers"), "body": same("body"), "body_format": same("json"), "status_code": same("status"), "timeout": same("timeout"), "return_content": none("the answer is the state of the result"),
				"user": same("username"), "url_username": same("username"), "password": same("password"), "url_password": same("password"), "force_basic_auth": none("a user is always sent"), "ca_path": same("ca"), "unix_socket": same("socket"),
				"validate_certs": none("certificates are verified"), "follow_redirects": none("redirects are not followed"), "dest": no("a file has a source with https"), "creates": no("write unless with a request to the server"), "removes": no("write unless with a request to the server"), "src": no("the body is a text"),
				"client_cert": no("requests have no client certificate"), "client_key": no("requests have no client certificate"), "use_proxy": none("no proxy is used"), "http_agent": none("the user agent is ccm-push"), "force": none("nothing is cached"), "use_gssapi": no("only basic authentication is supported"),
				"remote_src": no("a file has a source with https"), "use_netrc": none("username and password are written"), "unredirected_headers": none("redirects are not followed"), "decompress": none("answers are read as they are"),
			},
			Gap: "a request that changes something needs `unless` to detect that no change is needed; redirects are not followed",
		},
		"ufw": {
			Type:  "firewall",
			Write: firewallWrite,
			AdHoc: firewallAdHoc,
			Args: Arguments{
				"rule": same("action"), "port": same("port"), "to_port": same("port"), "proto": same("protocol"), "protocol": same("protocol"), "from_ip": same("source"), "from": same("source"), "src": same("source"), "interface": same("interface"), "if": same("interface"), "interface_in": same("interface"), "if_in": same("interface"),
				"delete": same("ensure"), "comment": same("name"), "direction": none("rules are only for incoming packets"), "insert": none("the rule of the narrower source comes first"), "insert_relative_to": none("the rule of the narrower source comes first"),
				"state": same("exec"), "default": same("exec"), "policy": same("exec"), "logging": same("exec"), "log": same("exec"), "name": no("a rule has ports or a service"), "app": no("a rule has ports or a service"),
				"from_port": no("a rule is about ports of the host"), "to_ip": no("a rule is about all addresses of the host"), "dest": no("a rule is about all addresses of the host"), "to": no("a rule is about all addresses of the host"), "interface_out": no("rules are only for incoming packets"), "if_out": no("rules are only for incoming packets"), "route": no("rules are only for incoming packets"),
			},
			Gap: "`limit`, and all rules that are not about incoming packets; without `proto` a rule becomes one rule for TCP and one for UDP",
		},
		"firewalld": {
			Type:  "firewall",
			Write: firewallWrite,
			AdHoc: firewallAdHoc,
			Args: Arguments{
				"port": same("port"), "service": same("service"), "zone": same("zone"), "state": same("ensure"), "permanent": none("rules are always active and permanent"), "immediate": none("rules are always active and permanent"),
				"rich_rule": no("write action and source"), "source": no("a rule cannot assign a source to a zone"), "interface": no("a rule cannot assign an interface to a zone"), "masquerade": no("rules are only for incoming packets"), "icmp_block": no("rules are only for ports"), "icmp_block_inversion": no("rules are only for ports"),
				"port_forward": no("rules are only for incoming packets"), "target": no("configure it with firewalld"), "protocol": no("rules are only for TCP and UDP"), "timeout": no("a rule stays"), "offline": no("firewalld has to run"), "forward": no("rules are only for incoming packets"),
			},
			Gap: "only ports and services of a zone; rules are always active and permanent, also with other values of `permanent` and `immediate`",
		},
		"iptables": {
			Type:  "firewall",
			Write: firewallWrite,
			AdHoc: firewallAdHoc,
			Args: Arguments{
				"jump": same("action"), "destination_port": same("port"), "destination_ports": same("port"), "protocol": same("protocol"), "source": same("source"), "in_interface": same("interface"), "state": same("ensure"), "comment": same("name"),
				"chain": none("rules are only for incoming packets"), "table": none("rules have a table of their own"), "action": none("the rule of the narrower source comes first"), "rule_num": none("the rule of the narrower source comes first"), "wait": none("nothing waits for a lock"),
				"match": none("port and protocol are enough"), "ip_version": none("the source decides; without a source the rule is for both"),
				"ctstate": no("a rule is about all packets of a connection"), "syn": no("a rule is about all packets of a connection"), "policy": no("set the policy in the ruleset"), "flush": no("other rules are kept"), "chain_management": no("a rule has no chain"),
				"destination": no("a rule is about all addresses of the host"), "source_port": no("a rule is about ports of the host"), "out_interface": no("rules are only for incoming packets"), "reject_with": no("action: reject uses the default of the protocol"), "limit": no("rules cannot count packets"), "limit_burst": no("rules cannot count packets"),
				"src_range": no("write source, as networks"), "dst_range": no("a rule is about all addresses of the host"), "icmp_type": no("rules are only for ports"), "to_ports": no("rules are only for incoming packets"), "to_destination": no("rules are only for incoming packets"), "to_source": no("rules are only for incoming packets"), "log_prefix": no("rules cannot log"),
				"log_level": no("rules cannot log"), "uid_owner": no("rules are only for incoming packets"), "gid_owner": no("rules are only for incoming packets"), "goto": no("a rule has no chain"), "tcp_flags": no("rules are only for ports"), "fragment": no("rules are only for ports"), "match_set": no("write source"), "match_set_flags": no("write source"), "set_counters": no("rules cannot count packets"),
				"set_dscp_mark": no("packets are not changed"), "set_dscp_mark_class": no("packets are not changed"), "gateway": no("packets are not copied"), "numeric": none("nothing is listed"),
			},
			Gap: "only rules of INPUT that allow or deny a port; the other rules depend on the order of the whole ruleset",
		},
	}
}

const (
	firewallWrite = "- firewall: [https: {port: 443}]"
	firewallAdHoc = "firewall https port=443"
)
