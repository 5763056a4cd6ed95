// Package extravars reads the data that a command line has in addition to manifests: extra variables ([Read]: -e),
// facts ([ReadFacts]: --facts, --fact) and a document of Hiera data ([ReadHiera]: --hiera).
//
// Packages templates and playbooks/catalog use the data. Errors show no value that may be a secret.
package extravars
