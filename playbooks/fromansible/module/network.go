package module

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

func gitTask(t *task.Task) {
	repo := t.Arg("repo", "name")
	if repo == nil || t.Arg("dest") == nil {
		t.Problem("git without repo and dest")
		return
	}
	if n := t.Arg("accept_hostkey", "accept_newhostkey"); n != nil && !strings.HasPrefix(repo.Value, "http") {
		if b, ok := yamlnode.BoolOf(n); !ok || b {
			t.Problem("git with accept_hostkey, which trusts whoever answers: a known_host resource has the keys of the server")
		}
	}
	if b, ok := yamlnode.BoolOf(t.Arg("clone")); ok && !b {
		t.Problem("git with clone: no, which only looks")
		return
	}
	e := &layout.Entry{Type: "git", Name: t.Place(t.Arg("dest"))}
	t.Put(e, "source", repo)
	if version := t.Arg("version"); version != nil && version.Value != "HEAD" {
		t.Put(e, "revision", version)
	}
	if b, ok := yamlnode.BoolOf(t.Arg("update")); !ok || !b {
		t.PutBool(e, "update", t.Arg("update"))
	}
	t.Put(e, "depth", t.Arg("depth"))
	recursive, given := yamlnode.BoolOf(t.Arg("recursive"))
	switch {
	case t.Arg("recursive") == nil, given && recursive: // as Ansible has it
		e.Set("submodules", yamlnode.Bool(true))
	case !given:
		t.PutBool(e, "submodules", t.Arg("recursive"))
	}
	t.Put(e, "key", t.Arg("key_file"))
	if b, ok := yamlnode.BoolOf(t.Arg("force")); !ok || b {
		t.PutBool(e, "force", t.Arg("force"))
	}
	t.Write(e)
}

// uriTask is a request. What it is answered with is the state of its result.
func uriTask(t *task.Task) {
	url := t.Arg("url")
	if url == nil {
		t.Problem("uri without url")
		return
	}
	if n := t.Arg("validate_certs"); n != nil {
		if b, ok := yamlnode.BoolOf(n); !ok || !b {
			t.Problem("uri with validate_certs: no: certificates are verified; ca says whose")
		}
	}
	method := "GET"
	if n := t.Arg("method"); n != nil {
		method = strings.ToUpper(n.Value)
	}
	e := t.Named("http", method+" "+url.Value)
	t.Put(e, "url", url)
	if method != "GET" {
		e.SetText("method", method)
	}
	t.Put(e, "headers", t.Arg("headers"))
	t.Put(e, "username", t.Arg("user", "url_username"))
	t.Put(e, "password", t.Arg("password", "url_password"))
	uriBody(t, e)
	codes := []string{"200"} // as Ansible has it
	if n := t.Arg("status_code"); n != nil {
		codes = nil
		for _, one := range yamlnode.Items(n) {
			for code := range strings.SplitSeq(one.Value, ",") {
				codes = append(codes, strings.TrimSpace(code))
			}
		}
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, code := range codes {
		if !yamlnode.Digits(code) {
			t.Problem("a status_code that is an expression")
			return
		}
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: code})
	}
	e.Set("status", list)
	t.Put(e, "ca", t.Arg("ca_path"))
	t.Put(e, "socket", t.Arg("unix_socket"))
	t.Write(e)
	if n := t.Arg("timeout"); n != nil {
		t.SetDuration("timeout", n.Value)
	}
}

// uriBody writes what is sent.
func uriBody(t *task.Task, e *layout.Entry) {
	format := "raw"
	if n := t.Arg("body_format"); n != nil {
		format = n.Value
	}
	switch body := t.Arg("body"); {
	case body == nil:
	case format == "json" && (body.Kind == yaml.MappingNode || expression.SoleExpr(body) != nil):
		t.Put(e, "json", body)
	case (format == "json" || format == "raw") && body.Kind == yaml.ScalarNode:
		t.Put(e, "body", body)
		if format == "json" && t.Arg("headers") == nil {
			e.Set("headers", yamlnode.Map("Content-Type", yamlnode.Text("application/json")))
		}
	default:
		t.Problem("a body of uri that is %s", format)
	}
}

// slurpTask is a command that prints a file. What it prints is not in base64.
func slurpTask(t *task.Task) {
	src := t.Arg("src", "path")
	if src == nil {
		t.Problem("slurp without src")
		return
	}
	e := &layout.Entry{Type: "exec", Name: "cat " + shellQuoteText(t.Place(src))}
	e.Set("readonly", yamlnode.Bool(true))
	t.Write(e)
}
