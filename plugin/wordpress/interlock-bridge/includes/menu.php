<?php
/**
 * The two pages and where they stand in the menu.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

const INTERLOCK_BRIDGE_PAGE          = 'interlock-bridge';
const INTERLOCK_BRIDGE_SETTINGS_PAGE = 'interlock-bridge-settings';

/**
 * Adds the menu.
 */
function interlock_bridge_add_menu(): void {
	add_menu_page( __( 'Interlock', 'interlock-bridge' ), __( 'Interlock', 'interlock-bridge' ), 'manage_options', INTERLOCK_BRIDGE_PAGE, 'interlock_bridge_show_ask_page', 'dashicons-shield' );
	add_submenu_page( INTERLOCK_BRIDGE_PAGE, __( 'Ask Interlock', 'interlock-bridge' ), __( 'Ask', 'interlock-bridge' ), 'manage_options', INTERLOCK_BRIDGE_PAGE, 'interlock_bridge_show_ask_page' );
	add_submenu_page( INTERLOCK_BRIDGE_PAGE, __( 'Interlock settings', 'interlock-bridge' ), __( 'Settings', 'interlock-bridge' ), 'manage_options', INTERLOCK_BRIDGE_SETTINGS_PAGE, 'interlock_bridge_show_settings_page' );
}

/**
 * Address of one of the pages.
 *
 * @param string $page Its slug.
 */
function interlock_bridge_page_url( string $page ): string {
	return admin_url( 'admin.php?page=' . $page );
}

/**
 * Loads style and script on the plugin's own pages only.
 *
 * @param string $hook Of the page.
 */
function interlock_bridge_enqueue( string $hook ): void {
	if ( false === strpos( $hook, INTERLOCK_BRIDGE_PAGE ) ) {
		return;
	}
	wp_enqueue_style( 'interlock-bridge', plugins_url( 'assets/interlock-bridge.css', INTERLOCK_BRIDGE_FILE ), array(), INTERLOCK_BRIDGE_VERSION );
	wp_enqueue_script(
		'interlock-bridge',
		plugins_url( 'assets/interlock-bridge.js', INTERLOCK_BRIDGE_FILE ),
		array(),
		INTERLOCK_BRIDGE_VERSION,
		array(
			'in_footer' => true,
			'strategy'  => 'defer',
		)
	);
}
