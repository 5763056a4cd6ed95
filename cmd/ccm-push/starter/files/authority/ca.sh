# Signs a public key with user_ca, within the limits that ccm-push sets in the environment.
# To use it: --ca-command 'sh DIR/ca.sh', or CCM_PUSH_CA_COMMAND.
exec ssh-keygen -q -s "$(dirname "$0")/user_ca" -I "$CCM_PUSH_KEY_ID" -n "$CCM_PUSH_PRINCIPALS" -V "-1m:+${CCM_PUSH_VALID_SECONDS}s" -O clear \
  ${CCM_PUSH_FORCE_COMMAND:+-O "force-command=$CCM_PUSH_FORCE_COMMAND"} \
  ${CCM_PUSH_SOURCE_ADDRESS:+-O "source-address=$CCM_PUSH_SOURCE_ADDRESS"} \
  $(echo "$CCM_PUSH_EXTENSIONS" | sed 's/[^,][^,]*/-O &/g; s/,/ /g') "$CCM_PUSH_KEY_FILE"
