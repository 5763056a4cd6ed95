package templates

import (
	"regexp"
	"strings"
)

// leftOut is the error for a function of CCM that is not here on purpose; nil
// for any other name.
func leftOut(name string) *fault {
	switch name {
	case "registrations", "kvGet":
		return noNATS(name)
	case "render", "write":
		return faultf("%s is a function of the templates of a scaffold", name)
	case "getHostByName":
		return faultf("%s asks the network of the controller while a template is rendered", name).
			withHint("write the address into the data, or read it from a fact of the host")
	case "bcrypt", "htpasswd":
		return faultf("%s gives another text at every run, so that its resource never becomes stable", name).
			withHint("make the hash once (htpasswd -nB NAME) and write it into the data")
	case "derivePassword":
		return faultf("%s computes for longer than a rendering may", name).
			withHint("write the password into the data")
	case "genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey", "buildCustomCert":
		return faultf("%s makes a new key or certificate at every run, so that its resource never becomes stable", name).
			withHint("make it once (openssl req -x509 …) and read it with file")
	}
	return nil
}

// noNATS is the error for functions that read what CCM keeps in NATS.
func noNATS(name string) *fault {
	return faultf("%s reads from NATS, which a push does not have", name).
		withHint("write the values into the data of the inventory, or give a file with --hiera")
}

// foreignWords are functions of Ansible, Jinja, Helm and Sprig under the names
// by which people look for them, with what to write in each language here.
type foreignWords struct{ expression, jet, golang string }

func foreign(name string) (foreignWords, bool) {
	words, ok := map[string]foreignWords{
		"default":         {`write Data.x ?? "…"`, `write lookup("data.x", "…")`, `write default "…"`},
		"items":           {"write toPairs(…), or keys(…)", "write range key, value := …", "write range $key, $value := …"},
		"dict2items":      {"write toPairs(…)", "write range key, value := …", "write range $key, $value := …"},
		"b64encode":       {"write toBase64(…)", "", "write b64enc"},
		"b64decode":       {"write fromBase64(…)", "", "write b64dec"},
		"to_json":         {"write toJSON(…)", "write json(…)", "write toRawJson"},
		"from_json":       {"write fromJSON(…)", "", "write fromJson"},
		"to_yaml":         {"write toJSON(…): JSON is YAML", "write json(…): JSON is YAML", "write toPrettyJson: JSON is YAML"},
		"regex_replace":   {"replace(…) takes a literal text; Go templates have regexReplaceAll", "replace(…) takes a literal text; Go templates have regexReplaceAll", "write regexReplaceAll PATTERN TEXT REPLACEMENT"},
		"regex_search":    {`write … matches "PATTERN"`, "Go templates have regexFind", "write regexFind PATTERN TEXT"},
		"env":             {"write Environ.NAME", "write Environ.NAME", `write env "NAME"`},
		"length":          {"write len(…)", "write len(…)", "write len"},
		"basename":        {"write last(split(…, \"/\"))", "", "write base"},
		"dirname":         {"", "", "write dir"},
		"combine":         {"", "", "write merge, with the map that wins first"},
		"include":         {`write template("file.templ")`, "", `write template "name" .`},
		"ansible_facts":   {"write Facts.…", "write Facts.…", "write .Facts.…"},
		"hostvars":        {"a template sees the facts and data of its own host only", "a template sees the facts and data of its own host only", "a template sees the facts and data of its own host only"},
		"regexReplaceAll": {"Go templates have it (template(\"file.gotmpl\"))", "Go templates have it (template(\"file.gotmpl\"))", ""},
	}[foreignName(name)]
	return words, ok
}

// foreignName is one of several spellings.
func foreignName(name string) string {
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
	jinjaFilter = regexp.MustCompile(`\|\s*([A-Za-z_]\w*)\s*(?:\||$)`)
	jinjaTest   = regexp.MustCompile(`\bis\s+(not\s+)?(defined|none|undefined)\b`)
)

// jinjaHint tells what to write instead of Jinja's syntax in an expression that
// cannot be parsed.
func jinjaHint(source string) string {
	if jinjaTest.MatchString(source) {
		return `write … ?? "…" for a default, or "key" in Data`
	}
	m := jinjaFilter.FindStringSubmatch(source)
	if m == nil {
		return ""
	}
	if words, ok := foreign(m[1]); ok && words.expression != "" {
		return words.expression
	}
	return "a filter is a function: … | " + m[1] + "()"
}

// noSuchFunction is an error for a call of an unknown function.
func noSuchFunction(name string, known []string, word func(foreignWords) string) *fault {
	f := faultf("function %q is not defined", name)
	if words, ok := foreign(name); ok && word(words) != "" {
		return f.withHint("%s", word(words))
	}
	if f.hint = didYouMean(known, name); f.hint != "" {
		return f
	}
	if len(known) > maxNames*5 {
		return f.withHint("there are those of Go's text/template and of Sprig, and lookup, file, readFile and jet")
	}
	return f.withHint("functions: %s", strings.Join(known, ", "))
}
