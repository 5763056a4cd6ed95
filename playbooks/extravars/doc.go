// Package extravars reads the data that a command line gives beside manifests: extra
// variables ([Read]: -e), facts ([ReadFacts]: --facts, --fact) and a document of Hiera
// data ([ReadHiera]: --hiera).
//
// What is done with it is in templates and playbooks/catalog. Errors show no value that
// may be a secret.
package extravars
