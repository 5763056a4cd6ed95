// Package python reads and prints values as the parts of Python do that Ansible is
// made of: ast.literal_eval and shlex, with which it reads INI inventories, PyYAML,
// and json.dumps and str, with which it prints.
package python
