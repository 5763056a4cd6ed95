package fromansible

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

func gitTask(t *task) {
	t.checkArgs()
	repo := t.arg("repo", "name")
	if repo == nil || t.arg("dest") == nil {
		t.problem("git without repo and dest")
		return
	}
	if n := t.arg("accept_hostkey", "accept_newhostkey"); n != nil && !strings.HasPrefix(repo.Value, "http") {
		if b, ok := yamlnode.BoolOf(n); !ok || b {
			t.problem("git with accept_hostkey, which trusts whoever answers: a known_host resource has the keys of the server")
		}
	}
	if b, ok := yamlnode.BoolOf(t.arg("clone")); ok && !b {
		t.problem("git with clone: no, which only looks")
		return
	}
	e := &layout.Entry{Type: "git", Name: t.place(t.arg("dest"))}
	t.put(e, "source", repo)
	if version := t.arg("version"); version != nil && version.Value != "HEAD" {
		t.put(e, "revision", version)
	}
	if b, ok := yamlnode.BoolOf(t.arg("update")); !ok || !b {
		t.putBool(e, "update", t.arg("update"))
	}
	t.put(e, "depth", t.arg("depth"))
	recursive, given := yamlnode.BoolOf(t.arg("recursive"))
	switch {
	case t.arg("recursive") == nil, given && recursive: // as Ansible has it
		e.Set("submodules", yamlnode.Bool(true))
	case !given:
		t.putBool(e, "submodules", t.arg("recursive"))
	}
	t.put(e, "key", t.arg("key_file"))
	if b, ok := yamlnode.BoolOf(t.arg("force")); !ok || b {
		t.putBool(e, "force", t.arg("force"))
	}
	t.write(e)
}

// uriTask is a request. What it is answered with is the state of its result.
func uriTask(t *task) {
	t.checkArgs()
	url := t.arg("url")
	if url == nil {
		t.problem("uri without url")
		return
	}
	if n := t.arg("validate_certs"); n != nil {
		if b, ok := yamlnode.BoolOf(n); !ok || !b {
			t.problem("uri with validate_certs: no: certificates are verified; ca says whose")
		}
	}
	method := "GET"
	if n := t.arg("method"); n != nil {
		method = strings.ToUpper(n.Value)
	}
	e := t.named("http", method+" "+url.Value)
	t.put(e, "url", url)
	if method != "GET" {
		e.SetText("method", method)
	}
	t.put(e, "headers", t.arg("headers"))
	t.put(e, "username", t.arg("user", "url_username"))
	t.put(e, "password", t.arg("password", "url_password"))
	uriBody(t, e)
	codes := []string{"200"} // as Ansible has it
	if n := t.arg("status_code"); n != nil {
		codes = nil
		for _, one := range yamlnode.Items(n) {
			for code := range strings.SplitSeq(one.Value, ",") {
				codes = append(codes, strings.TrimSpace(code))
			}
		}
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, code := range codes {
		if !digits(code) {
			t.problem("a status_code that is an expression")
			return
		}
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: code})
	}
	e.Set("status", list)
	t.put(e, "ca", t.arg("ca_path"))
	t.put(e, "socket", t.arg("unix_socket"))
	t.write(e)
	if n := t.arg("timeout"); n != nil {
		t.durationProperty("timeout", n.Value)
	}
}

// uriBody writes what is sent.
func uriBody(t *task, e *layout.Entry) {
	format := "raw"
	if n := t.arg("body_format"); n != nil {
		format = n.Value
	}
	switch body := t.arg("body"); {
	case body == nil:
	case format == "json" && (body.Kind == yaml.MappingNode || expression.SoleExpr(body) != nil):
		t.put(e, "json", body)
	case (format == "json" || format == "raw") && body.Kind == yaml.ScalarNode:
		t.put(e, "body", body)
		if format == "json" && t.arg("headers") == nil {
			e.Set("headers", yamlnode.Map("Content-Type", yamlnode.Text("application/json")))
		}
	default:
		t.problem("a body of uri that is %s", format)
	}
}

// slurpTask is a command that prints a file. What it prints is not in base64.
func slurpTask(t *task) {
	t.checkArgs()
	src := t.arg("src", "path")
	if src == nil {
		t.problem("slurp without src")
		return
	}
	e := &layout.Entry{Type: "exec", Name: "cat " + shellQuoteText(t.place(src))}
	e.Set("readonly", yamlnode.Bool(true))
	t.write(e)
}
