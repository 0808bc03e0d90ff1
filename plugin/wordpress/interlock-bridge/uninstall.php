<?php
/**
 * Takes away what the plugin stored. The key file is not the plugin's: it stays.
 *
 * @package Interlock_Bridge
 */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

delete_option( 'interlock_bridge_settings' );

// Results live for a minute, one for each administrator.
$interlock_bridge_administrators = array(
	'capability' => 'manage_options',
	'fields'     => 'ID',
);
foreach ( get_users( $interlock_bridge_administrators ) as $interlock_bridge_user_id ) {
	delete_transient( 'interlock_bridge_result_' . (int) $interlock_bridge_user_id );
}
