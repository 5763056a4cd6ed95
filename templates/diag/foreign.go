package diag

import (
	"regexp"
	"strings"
	"sync"
)

// Todo returns the error for a missing value, marked by todo("why").
func Todo(why string) *Fault {
	return Faultf("still to be done: %s", why).WithHint("replace it with the value, or an expression for it")
}

// RefusedFunction returns the error for a function of CCM that is omitted on purpose; nil for any other name.
func RefusedFunction(name string) *Fault {
	switch name {
	case "todo":
		return Todo("the text of todo(…)")
	case "render", "write":
		return Faultf("%q is a function of the templates of a scaffold", name)
	case "getHostByName":
		return Faultf("%q queries the network of the controller while a template is rendered", name).
			WithHint("write the address into the data, or read it from a fact of the host")
	case "randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "uuidv4", "shuffle":
		return Faultf("%q returns a different text in each run, so its resource never becomes stable", name).
			WithHint("make the text once and write it into the data")
	case "randInt":
		return Faultf("%q returns a different number in each run, so its resource never becomes stable", name).
			WithHint("write the number into the data; for a different number on each host, use a Go template: mod (adler32sum .facts.host.info.hostname) 60")
	case "encryptAES":
		return Faultf("%q returns a different text in each run, so its resource never becomes stable", name).
			WithHint("encrypt the text once and write the result into the data")
	case "bcrypt", "htpasswd":
		return Faultf("%q returns a different text in each run, so its resource never becomes stable", name).
			WithHint("make the hash once (htpasswd -nB NAME) and write it into the data")
	case "derivePassword":
		return Faultf("%q takes longer than the time limit for templates", name).
			WithHint("write the password into the data")
	case "genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey", "buildCustomCert":
		return Faultf("%q creates a new key or certificate in each run, so its resource never becomes stable", name).
			WithHint(`make it once (openssl req -x509 …) and read it with the function "file"`)
	}
	return nil
}

// Equivalent has the equivalents of a function of Ansible, Jinja, Helm or Sprig in each language here.
type Equivalent struct{ Expression, Jet, Golang string }

// ForeignFunction returns the equivalents of a function, filter or test of Jinja or Ansible.
func ForeignFunction(name string) (Equivalent, bool) {
	words, ok := map[string]Equivalent{
		"default":         {`write Data.x ?? "…"`, `write lookup("data.x", "…")`, `write default "…"`},
		"items":           {"write toPairs(…), or keys(…)", "write range key, value := …", "write range $key, $value := …"},
		"dict2items":      {"write toPairs(…)", "write range key, value := …", "write range $key, $value := …"},
		"b64encode":       {"write toBase64(…)", "", "write b64enc"},
		"b64decode":       {"write fromBase64(…)", "", "write b64dec"},
		"to_json":         {"write toJSON(…)", "write json(…)", "write toRawJson"},
		"from_json":       {"write fromJSON(…)", "", "write fromJson"},
		"to_yaml":         {"write toJSON(…): JSON is YAML", "write json(…): JSON is YAML", "write toPrettyJson: JSON is YAML"},
		"regex_replace":   {`replace(…) takes a literal text; Go templates have the function "regexReplaceAll"`, `replace(…) takes a literal text; Go templates have the function "regexReplaceAll"`, "write regexReplaceAll PATTERN TEXT REPLACEMENT"},
		"regex_search":    {`write … matches "PATTERN"`, `Go templates have the function "regexFind"`, "write regexFind PATTERN TEXT"},
		"env":             {"write Environ.NAME", "write Environ.NAME", `write env "NAME"`},
		"length":          {"write len(…)", "write len(…)", `write the function "len"`},
		"basename":        {"write last(split(…, \"/\"))", "", `write the function "base"`},
		"dirname":         {"", "", `write the function "dir"`},
		"combine":         {"", "", `write "merge", with the preferred map first`},
		"include":         {`write template("file.templ")`, "", `write template "name" .`},
		"ansible_facts":   {"write Facts.…", "write Facts.…", "write .Facts.…"},
		"hostvars":        {"write Hosts[NAME], where NAME is a host of the inventory", "write Hosts[NAME], where NAME is a host of the inventory", "write index .Hosts NAME, where NAME is a host of the inventory"},
		"regexReplaceAll": {"Go templates have it (template(\"file.gotmpl\"))", "Go templates have it (template(\"file.gotmpl\"))", ""},
	}[foreignSpelling(name)]
	return words, ok
}

// foreignSpelling returns the spelling that ForeignFunction knows, for names with several spellings.
func foreignSpelling(name string) string {
	switch name {
	case "d":
		return "default"
	case "b64enc", "base64":
		return "b64encode"
	case "b64dec":
		return "b64decode"
	case "toJson", "tojson", "to_nice_json", "toPrettyJson", "toRawJson":
		return "to_json"
	case "fromJson":
		return "from_json"
	case "toYaml", "to_nice_yaml":
		return "to_yaml"
	case "getenv":
		return "env"
	case "count", "size":
		return "length"
	case "base":
		return "basename"
	case "dir":
		return "dirname"
	case "merge":
		return "combine"
	case "tpl", "render":
		return "include"
	}
	return name
}

var (
	jinjaFilter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\|\s*([A-Za-z_]\w*)\s*(?:\||$)`) })
	jinjaTest   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bis\s+(not\s+)?(defined|none|undefined)\b`) })
)

// JinjaHint suggests a replacement for Jinja's syntax in an expression that cannot be parsed.
func JinjaHint(source string) string {
	if jinjaTest().MatchString(source) {
		return `write … ?? "…" for a default, or "key" in Data`
	}
	m := jinjaFilter().FindStringSubmatch(source)
	if m == nil {
		return ""
	}
	if words, ok := ForeignFunction(m[1]); ok && words.Expression != "" {
		return words.Expression
	}
	return "a filter is a function: … | " + m[1] + "()"
}

// NoSuchFunction returns an error for a call of an unknown function.
func NoSuchFunction(name string, known []string, word func(Equivalent) string) *Fault {
	f := Faultf("function %q is not defined", name)
	if words, ok := ForeignFunction(name); ok && word(words) != "" {
		return f.WithHint("%s", word(words))
	}
	if f.Hint = DidYouMean(known, name); f.Hint != "" {
		return f
	}
	if len(known) > maxNames*5 {
		return f.WithHint(`use functions of Go's text/template or Sprig, or "lookup", "file", "readFile" or "jet"`)
	}
	return f.WithHint("functions: %s", strings.Join(known, ", "))
}

// InInventory returns the expression for a variable in which Ansible provides its inventory and its run; "" for any
// other name.
func InInventory(name string) string {
	switch name {
	case "inventory_hostname":
		return "Host.name"
	case "group_names":
		return "Host.groups"
	case "groups":
		return "Groups"
	case "hostvars":
		return "Hosts"
	case "play_hosts", "ansible_play_hosts", "ansible_play_hosts_all":
		return "Play.hosts"
	case "ansible_play_name":
		return "Play.name"
	case "ansible_check_mode":
		return "Run.check"
	}
	return ""
}

// AnsibleVariable returns the replacement for a variable that Ansible sets by itself, with or without the prefix
// ansible_; "" for any other name.
func AnsibleVariable(name string) string {
	if value := InInventory(name); value != "" {
		return "write " + value
	}
	return map[string]string{
		"inventory_hostname_short":   `write split(Host.name, ".")[0]`,
		"hostname":                   "write Facts.host.info.hostname",
		"fqdn":                       "write Facts.host.info.hostname",
		"nodename":                   "write Facts.host.info.hostname",
		"os_family":                  "write Facts.host.info.platformFamily, in small letters: debian, rhel",
		"distribution":               "write Facts.host.info.platform, in small letters: ubuntu, rocky",
		"distribution_version":       "write Facts.host.info.platformVersion",
		"distribution_release":       "write Facts.host.release.codename",
		"distribution_major_version": `write Facts.host.info.platformVersion, whose first part is split(Facts.host.info.platformVersion, ".")[0]`,
		"architecture":               "write Facts.host.info.kernelArch",
		"kernel":                     "write Facts.host.info.kernelVersion",
		"system":                     "write Facts.host.info.os, in small letters: linux",
		"virtualization_type":        "write Facts.host.info.virtualizationSystem",
		"memtotal_mb":                "write Facts.memory.virtual.total, which is in bytes",
		"processor_vcpus":            "write len(Facts.cpu.info)",
		"default_ipv4":               "write Facts.network.default_ipv4",
		"vars":                       "write Data",
	}[strings.TrimPrefix(name, "ansible_")]
}
